import { type ReactNode, useState } from "react";
import { Kbd } from "../parts/button.tsx";
import { Modal } from "../parts/modal.tsx";
import { letterKeys } from "../parts/use-keys.ts";

/** All keys, by screen. */
const keys: readonly (readonly [screen: string, keys: readonly (readonly [keys: string, does: string])[]])[] =
  [
    [
      "Everywhere",
      [
        ["⌘K", "go to or search"],
        ["G R", "runs"],
        ["G A", "approvals"],
        ["G S", "spend"],
        ["G C", "sessions (conversations)"],
        ["G U", "audit"],
        ["G T", "agents (team)"],
        ["G P", "playground"],
        ["⌘⇧C", "copy the link to this page"],
        ["⌥C", "copy the command for this page"],
        ["H", "hold still, go on"],
        ["U", "show new"],
        ["?", "this list"],
      ],
    ],
    [
      "Runs",
      [
        ["J K", "next, previous"],
        ["↵", "open"],
        ["/", "filter"],
        ["N", "start a run"],
      ],
    ],
    [
      "Run",
      [
        ["↑ ↓", "agent"],
        ["← →", "fold, unfold"],
        ["↵", "its last step"],
        [".", "next that needs you"],
        ["A D", "approve, deny"],
        ["S", "steer"],
        ["P", "pause, resume"],
        ["T", "top up"],
        ["⇧C", "cancel"],
        ["⌫", "back to the list"],
      ],
    ],
    [
      "Spend",
      [
        ["1 2 3", "by agent, model, user"],
        ["[ ]", "earlier, later"],
        ["← →", "between bars"],
        ["↵", "runs behind a bar"],
      ],
    ],
    [
      "Step",
      [
        ["J K", "next, previous"],
        ["1 2 3", "new, whole, as sent"],
        ["E", "unfold all"],
        ["C", "copy the request"],
        ["⌫", "back to the tree"],
      ],
    ],
    [
      "Approvals",
      [
        ["J K", "next, previous"],
        ["A", "approve once"],
        ["⇧A", "approve this tool for this run"],
        ["D", "deny"],
        ["E", "edit the arguments"],
        ["F", "show folded lines"],
        ["O", "open the tree"],
      ],
    ],
    [
      "Sessions, agents",
      [
        ["J K", "next, previous"],
        ["↵", "open"],
        ["⌫", "back to the list"],
      ],
    ],
    [
      "Audit",
      [
        ["J K", "next, previous link"],
        ["V", "check the chain"],
        ["M", "older links"],
      ],
    ],
  ];

/** The list of keyboard shortcuts, and the switch for those that are letters. */
export function KeyList({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [on, setOn] = useState(letterKeys.on);
  return (
    <Modal title="Keys" onClose={onClose} wide>
      <div className="key-list">
        {keys.map(([screen, list]) => (
          <section key={screen}>
            <h3>{screen}</h3>
            <dl>
              {list.map(([names, does]) => (
                <div key={names}>
                  <dt>
                    {names.split(" ").map((name) => (
                      <Kbd key={name}>{name}</Kbd>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <label className="check">
        <input
          type="checkbox"
          checked={on}
          onChange={({ target }) => {
            letterKeys.set(target.checked);
            setOn(target.checked);
          }}
        />
        Single keys act, such as J and ?
      </label>
    </Modal>
  );
}
