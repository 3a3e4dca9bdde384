// The explorer as a component of the app: the server has its arrays.

import { fromServer } from "../core/arrays.ts";
import { Explorer } from "../heads/explorer.ts";

class ExplorerComponent extends Explorer {
  constructor(root: HTMLElement, server: string) {
    super(root, fromServer(server));
  }
}

export default ExplorerComponent;
