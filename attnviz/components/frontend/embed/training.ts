// A page with a training of its own: all its snapshots are in it.

import Training from "../training/training.ts";
import { show } from "./component.ts";

/** by their names as the server has them */
let files: Arrays = {};

const request = async (name: string) =>
  name in files
    ? new Response(files[name].data as BufferSource)
    : new Response("this page does not hold it", { status: 422 });

class Page extends Training {
  constructor(root: HTMLElement) {
    super(root, "", { request, offerAgain: async () => {} });
  }

  take(payload: Payload<TrainingHeader>) {
    files = payload.arrays;
    super.take(payload);
  }
}

show(Page);
