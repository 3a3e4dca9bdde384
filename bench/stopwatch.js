// The stopwatch inside the page. The page marks the frame in which it first finds what it waits for; Chromium's trace
// tells afterwards when that frame was drawn (stopwatch.py).

window.stopwatch = {
  MARK: "picture-shown",

  /** An element of the page, or of a component's shadow root. */
  find(selector) {
    const roots = [...document.querySelectorAll(".attnviz-isolated")].map((one) => one.shadowRoot);
    const found = [document, ...roots].map((root) => root?.querySelector(selector));
    return found.find(Boolean) ?? null;
  },

  // ---- what a picture shows, as a list of values, or null while there is none

  /** A Plotly chart: its title and its drawn heatmaps. */
  plotly(selector) {
    const plot = document.querySelector(selector);
    if (!plot?._fullLayout || !plot._fullData) return null;
    const wanted = plot._fullData.filter((trace) => trace.type === "heatmap" && trace.visible === true);
    const images = [...plot.querySelectorAll(".heatmaplayer image")].map(
      (image) => image.getAttribute("href") || image.getAttribute("xlink:href"),
    );
    if (!images.length || images.length < wanted.length || !images.every(Boolean)) return null;
    const title = plot.querySelector(".gtitle")?.textContent ?? "";
    return [title, images.join(" ")];
  },

  /** A canvas that counts the pictures that it has painted. */
  counted(selector) {
    const painted = this.find(selector)?.dataset.painted;
    return painted ? [painted] : null;
  },

  /** An element that is made anew for each picture. */
  made(selector) {
    const found = this.find(selector);
    return found ? [found] : null;
  },

  /**
   * A question that is answered with yes once `read` gives a picture that differs in every value from the present one.
   */
  changed(read) {
    const before = read();
    return () => {
      const now = read();
      return now !== null && (before === null || now.every((value, i) => value !== before[i]));
    };
  },

  // ---- timing

  /**
   * From now on, ask `done` in every frame until it says yes; `answer` then holds {input, origin, frames}: the
   * timestamp of the first `event`, and which frame after it holds the answer (1 is the next one). Without an event, no
   * input. It fails after a minute: nothing that is measured takes so long.
   */
  arm(done, event) {
    let input = event ? null : 0;
    let frames = 0;
    if (event) {
      addEventListener(
        event,
        (e) => {
          input = e.timeStamp;
        },
        { capture: true, once: true },
      );
    }
    performance.clearMarks(this.MARK);
    this.answer = new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`not shown within a minute: ${done}`)), 60_000);
      const stop = this.afterEachFrame(() => {
        if (input === null) return;
        frames += 1;
        if (!done()) return;
        performance.mark(this.MARK);
        stop();
        this.flicker(4, () => resolve({ input, origin: performance.timeOrigin, frames }));
      });
    });
  },

  /**
   * Calls `look` once a frame, after the page's own work of that frame: whenever the page asks for a frame, we ask
   * again, behind it. Nothing is added to the page for that: laying out and painting even an unseen element of our own
   * costs a page of a hundred thousand lines a tenth of a second. Returns what stops it.
   */
  afterEachFrame(look) {
    let asked = 0;
    this.askAgain = () => {
      cancelAnimationFrame(asked);
      asked = this.requestFrame(() => {
        this.askAgain();
        look();
      });
    };
    this.askAgain();
    return () => {
      cancelAnimationFrame(asked);
      this.askAgain = () => {};
    };
  },

  askAgain() {},

  requestFrame: window.requestAnimationFrame.bind(window),

  /** Keeps frames coming for a while, so that the marked one is drawn and its trace complete. */
  flicker(frames, then) {
    const dot = document.createElement("div");
    dot.style.cssText = "position:fixed;left:0;bottom:0;width:4px;height:4px;z-index:999999;pointer-events:none";
    document.body.append(dot);
    const turn = (left) => {
      dot.style.background = left % 2 ? "#777" : "#999";
      if (left) return this.requestFrame(() => turn(left - 1));
      dot.remove();
      return then();
    };
    turn(frames);
  },

  /** Notes, until `stop()`, how long each frame came after the one before, in ms, where `busy` says that it counts. */
  frames(busy) {
    const times = [];
    let before = null;
    let asked = 0;
    const note = (time) => {
      if (before !== null && busy()) times.push(time - before);
      before = time;
      asked = this.requestFrame(note);
    };
    asked = this.requestFrame(note);
    this.stop = () => {
      cancelAnimationFrame(asked);
      return times;
    };
  },
};

window.requestAnimationFrame = (work) => {
  const number = window.stopwatch.requestFrame(work);
  window.stopwatch.askAgain();
  return number;
};
