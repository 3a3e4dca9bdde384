// A page with a training of its own: all its snapshots are in it.

import Training from "../training/training.js";
import { show } from "./component.js";

/** @type {Arrays} by their names as the server has them */
let files = {};

/** @param {string} name */
const request = async (name) =>
  name in files
    ? new Response(/** @type {BufferSource} */ (files[name].data))
    : new Response("this page does not hold it", { status: 422 });

class Page extends Training {
  /** @param {HTMLElement} root */
  constructor(root) {
    super(root, "", { request, offerAgain: async () => {} });
  }

  /** @param {Payload<TrainingHeader>} payload */
  take(payload) {
    files = payload.arrays;
    super.take(payload);
  }
}

show(Page);
