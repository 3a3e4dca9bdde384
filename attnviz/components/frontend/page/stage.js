// The stage as a component of its own: its picture comes from the server.

import { theme } from "../core/dom.js";
import { unpack } from "../core/packing.js";
import { Stage } from "../walk/stage.js";

class StageComponent {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.stage = new Stage(root);
  }

  /** @param {Uint8Array} data @param {SetTriggerValue} _ @param {boolean} isNew */
  update(data, _, isNew) {
    const { board } = this.stage;
    board.setTheme(theme(board.element));
    if (!isNew) return;
    /** @type {Payload<StageHeader>} */
    const { header, arrays } = unpack(data);
    const panels = header.panels.map((panel, i) => ({ ...panel, .../** @type {any} */ (arrays[i]) }));
    this.stage.take({ ...header, panels });
  }

  destroy() {
    this.stage.destroy();
  }
}

export default StageComponent;
