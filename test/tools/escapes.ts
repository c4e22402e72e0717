/** The world outside the sandbox, as an attempt names it. */
export interface Outside {
  /** A file that every user may read. */
  readonly canary: string;
  /** The ports of servers on all addresses. */
  readonly tcp: number;
  readonly udp: number;
  /** Paths of listening sockets: one in the file system, one by an abstract name. */
  readonly socket: string;
  readonly abstract: string;
  /** A process of the user that also starts commands. */
  readonly pid: number;
  /** An address of this machine that is not loopback, or one that no machine has. */
  readonly address: string;
}

/** An attempt to get out. It prints `tried`, and `ESCAPED` if it has succeeded. */
export interface Attempt {
  readonly name: string;
  readonly argv: (outside: Outside) => readonly string[];
  /** Whether it succeeds, and does no harm, where there is no sandbox. */
  readonly control?: true;
}

type Script = string | ((outside: Outside) => string);

const textOf = (script: Script, outside: Outside): string =>
  typeof script === "string" ? script : script(outside);

const sh = (name: string, script: Script, control?: true): Attempt => ({
  name,
  argv: (outside) => ["sh", "-c", `echo tried; ${textOf(script, outside)}`],
  ...(control && { control }),
});

const perl = (name: string, script: Script, control?: true): Attempt => ({
  name,
  argv: (outside) => ["perl", "-e", `$| = 1; print "tried\\n"; ${textOf(script, outside)}`],
  ...(control && { control }),
});

const escaped = 'print "ESCAPED\\n"';

/** A system call by its number on x64 that must not return 0 or more. */
const syscall = (name: string, number: number, args = "0, 0, 0, 0"): Attempt =>
  perl(`the system call ${name}`, `my $r = syscall(${number}, ${args}); ${escaped} if $r >= 0;`);

const connect = (name: string, address: (outside: Outside) => string): Attempt =>
  perl(
    name,
    (outside) =>
      `use IO::Socket::IP; my $s = IO::Socket::IP->new(${address(outside)}, Timeout => 2); ${escaped} if $s;`,
    true,
  );

const unix = (name: string, path: (outside: Outside) => string): Attempt =>
  perl(
    name,
    (outside) =>
      `use Socket; socket(my $s, PF_UNIX, SOCK_STREAM, 0); ${escaped} if connect($s, pack_sockaddr_un("${path(outside)}"));`,
    true,
  );

const reads = (name: string, path: Script, control?: true): Attempt =>
  sh(
    name,
    (outside) => `head -c 64 ${textOf(path, outside)} >/tmp/got && test -s /tmp/got && echo ESCAPED`,
    control,
  );

const writes = (path: string): Attempt => sh(`a file at ${path}`, `echo x > ${path} && echo ESCAPED`);

/** Attempts that end by themselves. */
export const attempts: readonly Attempt[] = [
  connect("tcp to loopback", ({ tcp }) => `PeerHost => "127.0.0.1", PeerPort => ${tcp}`),
  connect("tcp to loopback by IPv6", ({ tcp }) => `PeerHost => "::1", PeerPort => ${tcp}`),
  connect(
    "tcp to another address of the machine",
    ({ tcp, address }) => `PeerHost => "${address}", PeerPort => ${tcp}`,
  ),
  perl(
    "udp to loopback",
    ({ udp }) =>
      `use Socket; socket(my $s, PF_INET, SOCK_DGRAM, 0); send($s, "ping", 0, pack_sockaddr_in(${udp}, inet_aton("127.0.0.1"))); setsockopt($s, SOL_SOCKET, SO_RCVTIMEO, pack("q q", 1, 0)); my $got; ${escaped} if defined recv($s, $got, 16, 0);`,
    true,
  ),
  unix("a unix socket by its path", ({ socket }) => socket),
  unix("a unix socket by its abstract name", ({ abstract }) => `\\0${abstract}`),
  perl("a raw socket", `use Socket; ${escaped} if socket(my $s, PF_INET, SOCK_RAW, 1);`),
  perl("a packet socket", `${escaped} if socket(my $s, 17, 3, 0);`),
  perl("a vsock socket, which no namespace holds", `${escaped} if socket(my $s, 40, 1, 0);`, true),
  reads("a file by its absolute path", ({ canary }) => canary, true),
  reads("a file above the root", "../outside/canary.txt"),
  sh("a link to a file outside", ({ canary }) => `ln -sf ${canary} out; cat out && echo ESCAPED`),
  sh("a hard link to a file outside", ({ canary }) => `ln ${canary} hard && echo ESCAPED`),
  reads("/etc/passwd", "/etc/passwd", true),
  reads("/etc/shadow", "/etc/shadow"),
  sh("the folders of users", "ls /root /home /var /srv /opt 2>/dev/null | grep . && echo ESCAPED"),
  ...["/usr/x", "/etc/x", "/x", "/dev/x", "/dev/shm/x", "/bin/x", "/workspace/../x"].map(writes),
  sh("a block device", "mknod disk b 254 0 && echo ESCAPED"),
  sh("a character device", "mknod mem c 1 1 && echo ESCAPED"),
  reads("the memory of the machine", "/dev/mem"),
  reads("the log of the kernel", "/dev/kmsg"),
  sh("a mount", "mount -t tmpfs none /tmp && echo ESCAPED"),
  sh("a writable system", "mount -o remount,rw /usr && echo ESCAPED"),
  sh("an unmount", "umount /usr && echo ESCAPED"),
  sh("chroot", "chroot / /usr/bin/true && echo ESCAPED"),
  sh("a new user namespace", "unshare --user true && echo ESCAPED"),
  sh("a new mount namespace", "unshare --mount true && echo ESCAPED"),
  sh("the namespaces of the first process", "nsenter --target 1 --all true && echo ESCAPED"),
  syscall("pivot_root", 155, '"/", "/"'),
  syscall("open_by_handle_at", 304, '-100, "xxxxxxxx", 0'),
  syscall("name_to_handle_at", 303, '-100, "/", "xxxxxxxxxxxxxxxx", "xxxx", 0'),
  sh(
    "variables of the worker",
    "tr '\\0' '\\n' </proc/1/environ | cat - /proc/self/environ | grep REEVE_CANARY && echo ESCAPED",
  ),
  sh(
    "a process outside",
    ({ pid }) =>
      `grep -q reeve-canary-process /proc/*/cmdline 2>/dev/null && test -d /proc/${pid}/task && cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q 'sleep 987654' && echo ESCAPED`,
  ),
  sh("a setting of the kernel", "echo x > /proc/sys/kernel/core_pattern && echo ESCAPED"),
  sh("sysrq", "echo b > /proc/sysrq-trigger && echo ESCAPED"),
  sh(
    "descriptors of the worker",
    "ls -l /proc/self/fd | grep -E 'pipe|socket|/' | grep -vE ' [0-3] ->|/dev/null|/proc/' && echo ESCAPED",
  ),
  sh(
    "a signal to a process outside",
    ({ pid }) => `test ${pid} -gt 100 && kill -TERM ${pid} && echo ESCAPED`,
    true,
  ),
  syscall("ptrace", 101, "16, 1, 0, 0"),
  syscall("process_vm_readv", 310, "1, 0, 0, 0, 0, 0"),
  sh("a program that is setuid root", 'test "$(./setuid-id -u)" = 0 && echo ESCAPED'),
  sh("sudo and su", "(sudo -n true || su -c true) </dev/null && echo ESCAPED"),
  sh("capabilities", "grep -E '^Cap(Eff|Prm|Bnd|Amb)' /proc/self/status | grep -vE '0{16}$' && echo ESCAPED"),
  sh("new privileges", "grep -q 'NoNewPrivs:.*0' /proc/self/status && echo ESCAPED"),
  sh("no filter", "grep -q 'Seccomp:.*0' /proc/self/status && echo ESCAPED", true),
  sh("the terminal of the worker", "(: < /dev/tty) 2>/dev/null && echo ESCAPED"),
  syscall("keyctl", 250),
  syscall("bpf", 321),
  syscall("userfaultfd", 323),
  syscall("perf_event_open", 298),
  syscall("io_uring_setup", 425, '1, "x" x 120'),
  syscall("memfd_create", 319, '"x", 0'),
  syscall("shmget", 29, "0, 1048576, 950"),
  syscall("setns", 308, "0, 0"),
  syscall("personality", 135),
  syscall("a call of the x32 interface", 0x4000_0000 + 39),
];

/** Arguments that a shell, or bwrap itself, would read as something else. */
export const injections: readonly (readonly string[])[] = [
  ["; cat {canary}"],
  ["&& cat {canary}"],
  ["| cat {canary}"],
  ["$(cat {canary})"],
  ["`cat {canary}`"],
  ["\n cat {canary}"],
  ["'; cat {canary}; '"],
  ['"; cat {canary}; "'],
  ["<(cat {canary})"],
  ["${IFS}cat{canary}"],
  ["--share-net"],
  ["--bind", "/", "/host"],
  ["--dev-bind", "/", "/"],
  ["--", "--bind", "/", "/host"],
  ["--seccomp", "0"],
  ["--nproc=unlimited"],
  ["-n", "--", "-e"],
  ["%s%s%n", "%x"],
  ["$PATH", "${HOME}", "~root"],
  ["*", "/*", "../*"],
];
