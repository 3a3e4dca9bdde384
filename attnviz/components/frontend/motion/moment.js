// One moment of a step, as a board paints it.

import { paintFrame, placesAt } from "./paint.js";

/** @param {Frame} frame @param {BoardPicture} picture @returns {BoardMotion} */
export function motionAt(frame, picture) {
  return {
    places: (places) => placesAt(frame, places),
    paint: (pen, places, imageOf) => paintFrame(pen, frame, { places, picture, imageOf }),
  };
}
