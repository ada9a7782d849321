/**
 * Tracks whether a person is using this window. Background requests must not extend the session of an absent member.
 */

/**
 * A window is unattended after this long without input. Shorter: a person who only reads loses the session. Longer: an
 * abandoned session stays open for that much longer.
 */
const ATTENDED_MS = 60_000;

let lastMs = Date.now();

const note = (): void => {
  lastMs = Date.now();
};

for (const type of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'])
  addEventListener(type, note, { capture: true, passive: true });

export const isUnattended = (): boolean => Date.now() - lastMs > ATTENDED_MS;
