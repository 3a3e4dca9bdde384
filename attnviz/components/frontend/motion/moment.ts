// One moment of a step, as a board paints it.

import { paintFrame, placesAt } from "./paint.ts";

export function motionAt(frame: Frame, picture: BoardPicture): BoardMotion {
  return {
    places: (places) => placesAt(frame, places),
    paint: (pen, places, imageOf) => paintFrame(pen, frame, { places, picture, imageOf }),
  };
}
