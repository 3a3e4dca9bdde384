// A slide of 16:9 on which something is played: a title, matrices on a board of its own, out of sight, or another
// picture, and below it what is said.

import { Board } from "../board/board.ts";
import { element } from "../core/dom.ts";
import { INK } from "../core/colours.ts";
import { HEADING, PAPER } from "../core/constants.ts";
import { motionAt } from "./paint.ts";

const SIZE = { width: 1280, height: 720 }; // px: 16:9
const SCALE = 4 / 3; // of the type, for it is read from far
const MARGIN = 22; // px of the page's, as all that follows
const TITLE = 30;
const LINE = 20;
const CAPTION = { apart: 10, font: 15 };

/** What is written on a slide. */
interface SlideWords {
  title: string;
  says: Said[];
}

export class Slide {
  theme: Theme;
  top: number;
  lines: number;
  /** px of the page's, of the picture */
  room: Size;
  place: HTMLElement;
  board: Board;
  header: StageHeader | null = null;
  canvas = element("canvas", SIZE);
  context: CanvasRenderingContext2D;

  /**
   * @param host whose font the slide has
   * @param looks.lines of what is said, at most
   */
  constructor(host: HTMLElement, { theme, hasTitle, lines }: { theme: Theme; hasTitle: boolean; lines: number }) {
    this.theme = theme;
    this.top = hasTitle ? TITLE : 0;
    this.lines = lines;
    const [width, height] = [SIZE.width / SCALE - 2 * MARGIN, SIZE.height / SCALE - 2 * MARGIN];
    this.room = { width, height: height - this.top - CAPTION.apart - lines * LINE };
    const size = `width:${this.room.width}px;height:${this.room.height}px`;
    this.place = element("div", { style: `position:fixed;left:-9999px;top:0;visibility:hidden;--chrome:none;${size}` });
    host.append(this.place);
    this.board = new Board(this.place);
    this.board.theme = theme;
    this.board.font = getComputedStyle(this.place).fontFamily || "sans-serif";
    this.context = this.canvas.getContext("2d", { willReadFrequently: true }) as CanvasRenderingContext2D;
  }

  /** Takes the picture of a step. */
  take(header: StageHeader) {
    this.header = header;
    this.board.motion = null;
    this.board.show({ ...header, panels: header.panels.map((panel) => ({ ...panel, numbered: true })) });
  }

  /** Draws a moment of the step; null is its whole picture. */
  draw(frame: Frame | null, words: SlideWords) {
    this.begin(words);
    this.board.motion = frame && this.header && motionAt(frame, this.header);
    this.board.paint(this.context);
  }

  /**
   * Draws another picture, smaller where it is larger than its room.
   * @param density pixels of it for one of the page's
   */
  drawImage(image: HTMLCanvasElement, density: number, words: SlideWords) {
    this.begin(words);
    const { width, height } = this.room;
    const scale = Math.min(1 / density, width / image.width, height / image.height);
    const [wide, high] = [image.width * scale, image.height * scale];
    this.context.drawImage(image, (width - wide) / 2, (height - high) / 2, wide, high);
  }

  /** The empty slide with its words; what follows is drawn from the corner of the picture. */
  begin({ title, says }: SlideWords) {
    const { context, theme, board, room } = this;
    const [width, height] = [SIZE.width / SCALE, SIZE.height / SCALE];
    context.setTransform(SCALE, 0, 0, SCALE, 0, 0);
    context.fillStyle = PAPER[theme];
    context.fillRect(0, 0, width, height);
    const heading = { y: MARGIN + 12, font: `600 19px ${board.font}`, ink: () => HEADING[theme] };
    write(context, [[title]], { ...heading, lines: 1, width: room.width });
    const y = height - MARGIN - 4 - (this.lines - 1) * LINE;
    const ink = (role: RoleInk) => INK[theme][role];
    write(context, says, { y, font: `${CAPTION.font}px ${board.font}`, ink, lines: this.lines, width: room.width });
    context.translate(MARGIN, MARGIN + this.top);
  }

  /** RGBA, little-endian */
  pixels() {
    return new Uint32Array(this.context.getImageData(0, 0, SIZE.width, SIZE.height).data.buffer);
  }

  destroy() {
    this.board.destroy();
    this.place.remove();
  }
}

/**
 * The motion of a step on a slide, and below it what is being computed.
 * @param host the board's, whose font the slide has
 */
export function animationOf(
  host: HTMLElement,
  { header, timeline, theme, title }: { header: StageHeader; timeline: Timeline; theme: Theme; title: string },
): PageAnimation {
  const slide = new Slide(host, { theme, hasTitle: Boolean(title), lines: 1 });
  slide.take(header);
  return animated(slide, timeline.ms, (t) => {
    const frame = t < 1 ? timeline.at(t) : null;
    slide.draw(frame, { title, says: frame?.says ?? [] });
  });
}

/** What plays on a slide: `paint` draws a moment, from 0 to 1. */
export function animated(slide: Slide, ms: number, paint: (t: number) => void): PageAnimation {
  return {
    ...SIZE,
    ms,
    canvas: slide.canvas,
    paint,
    draw(t) {
      paint(t);
      return slide.pixels();
    },
    destroy: () => slide.destroy(),
  };
}

/** Writes words in as many lines as there are; of more, all that is left stands in the last one. */
function write(
  context: CanvasRenderingContext2D,
  says: Said[],
  looks: { y: number; font: string; ink: (role: RoleInk) => string; lines: number; width: number },
) {
  const { font, ink, lines, width } = looks;
  Object.assign(context, { font, textAlign: "left", textBaseline: "alphabetic" });
  let [left, line] = [0, 0];
  for (const [text, role = "text"] of says) {
    context.fillStyle = ink(role);
    for (const word of text.split(/(?<= )/)) {
      const wide = context.measureText(word).width;
      if (left > 0 && line < lines - 1 && left + context.measureText(word.trimEnd()).width > width) {
        [left, line] = [0, line + 1];
      }
      context.fillText(word, MARGIN + left, looks.y + line * LINE);
      left += wide;
    }
  }
}
