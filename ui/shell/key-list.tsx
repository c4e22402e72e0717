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
        ["G P", "playground"],
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
      "Approvals",
      [
        ["J K", "next, previous"],
        ["A", "approve once"],
        ["⇧A", "approve this tool for this run"],
        ["D", "deny"],
        ["E", "edit the arguments"],
        ["O", "open the tree"],
      ],
    ],
  ];

/** The list of keys, and the switch for those that are letters. */
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
        Letters are keys
      </label>
    </Modal>
  );
}
