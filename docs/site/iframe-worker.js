// Search in pages that are opened from a disk. A browser starts no worker there, so its script runs in a hidden
// frame, with the same messages. On a web server this script does nothing.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html>";
      frame.addEventListener("load", () => this.start(frame.contentWindow, url), { once: true });
      document.body.append(frame);
    }

    // The worker's script listens for messages in its own window, and posts its answers there.
    start(worker, url) {
      worker.postMessage = (data) => deliver(this, data);
      const script = worker.document.createElement("script");
      script.src = url;
      script.addEventListener("load", () => {
        this.worker = worker;
        for (const data of this.waiting) this.postMessage(data);
      });
      worker.document.body.append(script);
    }

    postMessage(data) {
      if (this.worker) deliver(this.worker, data);
      else this.waiting.push(data);
    }
  };

  // As with a worker, a message arrives after the code that sends it has run.
  const deliver = (target, data) => setTimeout(() => target.dispatchEvent(new MessageEvent("message", { data })));
}
