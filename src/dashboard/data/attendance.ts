/** Whether a person is at this window. What it asks by itself must not keep their session open. */

/** After this long without a key, a click or a scroll. Shorter: a reader counts as gone. Longer: a session lasts as much longer. */
const ATTENDED_MS = 60_000;

let lastMs = Date.now();

const note = (): void => {
  lastMs = Date.now();
};

for (const type of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'])
  addEventListener(type, note, { capture: true, passive: true });

export const isUnattended = (): boolean => Date.now() - lastMs > ATTENDED_MS;
