// The walk through a whole model, as a component: each of its documents is one attention and what follows it.

import { Diagram } from "../diagram/diagram.js";
import WalkComponent from "./walk.js";

class TransformerComponent extends WalkComponent {
  /** @param {ShadowRoot} root @param {string} server */
  constructor(root, server) {
    super(root, server);
    this.diagram = new Diagram((at) => this.walk.choose(at));
    this.walk.lead(this.diagram);
  }

  /** @param {WalkHeader} header */
  take(header) {
    if (header.model) this.diagram.take(header.model);
    super.take(header);
  }

  destroy() {
    super.destroy();
    this.diagram.destroy();
  }
}

export default TransformerComponent;
