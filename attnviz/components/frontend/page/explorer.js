// The explorer as a component of the app: the server has its arrays.

import { fromServer } from "../core/arrays.js";
import { Explorer } from "../heads/explorer.js";

class ExplorerComponent extends Explorer {
  /** @param {HTMLElement} root @param {string} server */
  constructor(root, server) {
    super(root, fromServer(server));
  }
}

export default ExplorerComponent;
