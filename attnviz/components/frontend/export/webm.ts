// Writes a video: pictures that the browser encodes (WebCodecs, VP8), in a WebM file:
// https://www.webmproject.org/docs/container

const CODEC = { name: "vp8", id: "V_VP8" };
const RATE = 1_500_000; // bits per second
const KEY_FRAMES = 60; // frames from one that stands alone to the next: a player can begin at these
const MOST_WAITING = 4; // frames that the encoder holds

export interface Chunk {
  /** ms */
  time: number;
  isKey: boolean;
  bytes: Uint8Array;
}

const configOf = ({ width, height }: Size, rate: number) => ({
  ...{ codec: CODEC.name, width, height, bitrate: RATE, framerate: rate },
});

/** Whether this browser can encode a video of this size: it takes a secure address. */
export async function canEncode(size: Size, rate: number) {
  if (!("VideoEncoder" in window)) return false;
  const { supported } = await VideoEncoder.isConfigSupported(configOf(size, rate));
  return supported === true;
}

/** Encodes the pictures of a canvas, one after the other. */
export class Video {
  size: Size;
  rate: number;
  words: FileWords;
  chunks: Chunk[] = [];
  failure: Error | null = null;
  encoder: VideoEncoder = new VideoEncoder({
    output: (chunk) => this.take(chunk),
    error: (error) => (this.failure = error),
  });
  count = 0;

  /** @param rate frames per second */
  constructor(size: Size, rate: number, words: FileWords) {
    this.size = size;
    this.rate = rate;
    this.words = words;
    this.encoder.configure(configOf(size, rate));
  }

  take(chunk: EncodedVideoChunk) {
    const bytes = new Uint8Array(chunk.byteLength);
    chunk.copyTo(bytes);
    this.chunks.push({ time: Math.round(chunk.timestamp / 1000), isKey: chunk.type === "key", bytes });
  }

  /** Adds the canvas as it is now; resolves when the encoder has room for another. */
  async add(canvas: HTMLCanvasElement) {
    const timestamp = Math.round((1e6 * this.count) / this.rate);
    const frame = new VideoFrame(canvas, { timestamp, duration: Math.round(1e6 / this.rate) });
    this.encoder.encode(frame, { keyFrame: this.count % KEY_FRAMES === 0 });
    frame.close();
    this.count += 1;
    while (this.encoder.encodeQueueSize > MOST_WAITING && !this.failure) {
      await new Promise((done) => setTimeout(done, 2));
    }
    if (this.failure) throw new Error("The browser could not encode the video. Take GIF instead.");
  }

  /** The file. */
  async blob() {
    await this.encoder.flush();
    this.encoder.close();
    return new Blob([webm(this.chunks, this.size, this.rate, this.words)], { type: "video/webm" });
  }
}

// ---- the container: elements with an id, a length and contents (EBML)

/** An element. @param of its contents: bytes, or elements */
function ebml(id: number, ...of: Uint8Array[]) {
  return joined([bytesOf(id), lengthOf(of.reduce((sum, { length }) => sum + length, 0)), ...of]);
}

/** A number without leading zeros; of `size` bytes where that is given. */
function bytesOf(value: number, size = Math.max(1, Math.ceil(Math.log2(value + 1) / 8))) {
  return Uint8Array.from({ length: size }, (_, n) => Math.floor(value / 256 ** (size - 1 - n)) % 256);
}

/** A length in eight bytes, of which the first says so. */
function lengthOf(length: number) {
  const bytes = bytesOf(length, 8);
  bytes[0] = 1;
  return bytes;
}

const uint = (id: number, value: number, size?: number) => ebml(id, bytesOf(value, size));
const text = (id: number, value: string) => ebml(id, new TextEncoder().encode(value));

function float(id: number, value: number) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  return ebml(id, bytes);
}

function joined(parts: Uint8Array[]) {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A file of these frames: a cluster from each frame that stands alone, and before them where each begins. */
export function webm(chunks: Chunk[], { width, height }: Size, rate: number, { title, caption }: FileWords) {
  const clusters = chunks
    .flatMap(({ isKey }, n) => (isKey ? [n] : []))
    .map((from, n, all) => chunks.slice(from, all[n + 1]));
  const written = clusters.map(clusterOf);
  const info = ebml(
    0x1549a966,
    uint(0x2ad7b1, 1_000_000), // ns of a unit of time: 1 ms
    float(0x4489, (1000 * chunks.length) / rate),
    text(0x7ba9, title),
    text(0x4d80, "attnviz"),
    text(0x5741, "attnviz"),
  );
  const video = ebml(0xe0, uint(0xb0, width), uint(0xba, height));
  const track = [uint(0xd7, 1), uint(0x73c5, 1), uint(0x9c, 0), uint(0x83, 1), text(0x86, CODEC.id)];
  const tracks = ebml(0x1654ae6b, ebml(0xae, ...track, uint(0x23e383, Math.round(1e9 / rate)), video));
  const ofWholeFile = ebml(0x63c0);
  const described = ebml(0x67c8, text(0x45a3, "DESCRIPTION"), text(0x4487, caption));
  const tags = ebml(0x1254c367, ebml(0x7373, ofWholeFile, described));
  const cues = (first: number) => {
    let at = first;
    const points = clusters.map(([{ time }], n) => {
      const position = ebml(0xb7, uint(0xf7, 1), uint(0xf1, at, 4));
      at += written[n].length;
      return ebml(0xbb, uint(0xb3, time, 4), position);
    });
    return ebml(0x1c53bb6b, ...points);
  };
  const before = info.length + tracks.length + tags.length;
  const index = cues(before + cues(0).length); // its length does not depend on the numbers in it
  return joined([headOfFile(), ebml(0x18538067, info, tracks, tags, index, ...written)]);
}

function headOfFile() {
  const versions = [uint(0x4286, 1), uint(0x42f7, 1), uint(0x42f2, 4), uint(0x42f3, 8)];
  return ebml(0x1a45dfa3, ...versions, text(0x4282, "webm"), uint(0x4287, 4), uint(0x4285, 2));
}

/** Frames up to the next one that stands alone: at most 32 seconds. */
function clusterOf(chunks: Chunk[]) {
  const [{ time: from }] = chunks;
  const blocks = chunks.map(({ time, isKey, bytes }) =>
    ebml(0xa3, Uint8Array.of(0x81), bytesOf(time - from, 2), Uint8Array.of(isKey ? 0x80 : 0), bytes),
  );
  return ebml(0x1f43b675, uint(0xe7, from), ...blocks);
}
