// A seccomp filter, as the kernel takes it: an array of BPF instructions.
//
// Job: refuse system calls that ordinary programs do not need and that attacks on the kernel use. Neighbour: bubblewrap
// gives it to bwrap, which installs it before the command begins.
//
// Invariants:
// 1. A call of another architecture ends the process: its numbers mean other calls.
// 2. A call on the list returns EPERM. A socket is of a family on the list, or is refused: vsock leaves a network
//    namespace, and rare families are where kernel bugs are.
// 3. Everything else is allowed. Namespaces and limits are the walls; the filter makes the target smaller.

/** Name, number on x64, number on arm64; -1: the call does not exist there. */
const refusedCalls: readonly (readonly [name: string, x64: number, arm64: number])[] = [
  ["acct", 163, 89],
  ["add_key", 248, 217],
  ["adjtimex", 159, 171],
  ["bpf", 321, 280],
  ["chroot", 161, 51],
  ["clock_adjtime", 305, 266],
  ["clock_settime", 227, 112],
  ["delete_module", 176, 106],
  ["finit_module", 313, 273],
  ["fsconfig", 431, 431],
  ["fsmount", 432, 432],
  ["fsopen", 430, 430],
  ["fspick", 433, 433],
  ["init_module", 175, 105],
  ["io_uring_enter", 426, 426],
  ["io_uring_register", 427, 427],
  ["io_uring_setup", 425, 425],
  ["ioperm", 173, -1],
  ["iopl", 172, -1],
  ["kcmp", 312, 272],
  ["kexec_file_load", 320, 294],
  ["kexec_load", 246, 104],
  ["keyctl", 250, 219],
  ["lookup_dcookie", 212, 18],
  // Memory that belongs to no process and so to no limit of one.
  ["memfd_create", 319, 279],
  ["memfd_secret", 447, 447],
  ["shmget", 29, 194],
  ["migrate_pages", 256, 238],
  ["modify_ldt", 154, -1],
  ["mount", 165, 40],
  ["mount_setattr", 442, 442],
  ["move_mount", 429, 429],
  ["move_pages", 279, 239],
  ["name_to_handle_at", 303, 264],
  ["nfsservctl", 180, 42],
  ["open_by_handle_at", 304, 265],
  ["open_tree", 428, 428],
  ["perf_event_open", 298, 241],
  ["personality", 135, 92],
  ["pidfd_getfd", 438, 438],
  ["pivot_root", 155, 41],
  ["process_vm_readv", 310, 270],
  ["process_vm_writev", 311, 271],
  ["ptrace", 101, 117],
  ["quotactl", 179, 60],
  ["quotactl_fd", 443, 443],
  ["reboot", 169, 142],
  ["request_key", 249, 218],
  ["setdomainname", 171, 162],
  ["sethostname", 170, 161],
  ["setns", 308, 268],
  ["settimeofday", 164, 170],
  ["swapoff", 168, 225],
  ["swapon", 167, 224],
  ["syslog", 103, 116],
  ["umount2", 166, 39],
  ["unshare", 272, 97],
  ["userfaultfd", 323, 282],
  ["vhangup", 153, 58],
];

/** unix, inet, inet6 and netlink, by which programs list the network interfaces. */
const allowedFamilies = [1, 2, 10, 16];

const architectures = {
  x64: { audit: 0xc000_003e, socket: 41, column: 1 },
  arm64: { audit: 0xc000_00b7, socket: 198, column: 2 },
} as const;

/** Numbers from here on are calls of the x32 interface. */
const firstX32Call = 0x4000_0000;

const load = 0x20;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const end = 0x06;
const offsets = { number: 0, architecture: 4, firstArgument: 16 } as const;
const verdicts = {
  allow: 0x7fff_0000,
  endProcess: 0x8000_0000,
  noPermission: 0x0005_0001,
  noSuchCall: 0x0005_0026,
  noSuchFamily: 0x0005_0061,
} as const;

type Instruction = readonly [code: number, jumpIfTrue: number, jumpIfFalse: number, operand: number];

/** Returns the filter for an architecture, as `process.arch` names it; null: there is none. */
export function createSeccompFilter(architecture: string): Uint8Array | null {
  if (architecture !== "x64" && architecture !== "arm64") return null;
  const { audit, socket, column } = architectures[architecture];
  const numbers = refusedCalls.map((row) => row[column]).filter((number) => number >= 0);
  const families = allowedFamilies.flatMap((family): readonly Instruction[] => [
    [jumpIfEqual, 0, 1, family],
    [end, 0, 0, verdicts.allow],
  ]);
  const program: readonly Instruction[] = [
    [load, 0, 0, offsets.architecture],
    [jumpIfEqual, 1, 0, audit],
    [end, 0, 0, verdicts.endProcess],
    [load, 0, 0, offsets.number],
    [jumpIfAtLeast, 0, 1, firstX32Call],
    [end, 0, 0, verdicts.noSuchCall],
    ...numbers.flatMap((number): readonly Instruction[] => [
      [jumpIfEqual, 0, 1, number],
      [end, 0, 0, verdicts.noPermission],
    ]),
    [jumpIfEqual, 0, families.length + 2, socket],
    [load, 0, 0, offsets.firstArgument],
    ...families,
    [end, 0, 0, verdicts.noSuchFamily],
    [end, 0, 0, verdicts.allow],
  ];
  return encodeProgram(program);
}

/** Writes `struct sock_filter`: two bytes, one, one and four. Both architectures are little-endian. */
function encodeProgram(program: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, jumpIfTrue, jumpIfFalse, operand]] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, jumpIfTrue);
    bytes.setUint8(index * 8 + 3, jumpIfFalse);
    bytes.setUint32(index * 8 + 4, operand, true);
  }
  return new Uint8Array(bytes.buffer);
}
