// The walk through a whole model, as a component: each of its documents is one attention and what follows it.

import { Diagram } from "../diagram/diagram.ts";
import WalkComponent from "./walk.ts";

class TransformerComponent extends WalkComponent {
  diagram: Diagram = new Diagram((at) => this.walk.choose(at));

  constructor(root: ShadowRoot, host: Host) {
    super(root, host);
    this.walk.lead(this.diagram);
  }

  take(header: WalkHeader) {
    if (header.model) this.diagram.take(header.model);
    super.take(header);
  }

  destroy() {
    super.destroy();
    this.diagram.destroy();
  }
}

export default TransformerComponent;
