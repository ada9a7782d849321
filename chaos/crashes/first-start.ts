import { askIn } from '../harness/asking.ts';
import { chosenFor } from '../harness/order.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import { inWorld } from './in-world.ts';
import type { Passing } from './passing.ts';
import { sendAll } from './send-all.ts';

/**
 * Appends of the first start: an organization, a domain and two keys. (With captured mail it also verifies the domain.)
 */
const FIRST_APPENDS = 4;
/** The first start records how it sends, that keys must be created, and that they were printed. */
const FIRST_NOTES = [1, 2, 3] as const;

/** The next start must complete the first one, and the keys it prints must work. */
const dieAtFirstStart = (point: Passing): Promise<readonly Violation[]> =>
  inWorld({}, async ({ programs, load }) => {
    await programs.startToDie({ OUTBOX_FAIL_POINT: point });
    await programs.died();
    await programs.start();
    const { live } = programs.running().keys;
    const answer = await askIn({ programs, key: live })('/v1/domains');
    if (answer?.status !== 200) throw new Error(`the key that was printed is answered ${answer?.status}`);
    await sendAll(load);
  });

export const FIRST_START_CRASHES: readonly Scenario[] = [
  ...(['before-append-other', 'after-append-other'] as const).map((point) => ({
    name: `killed ${point} by the first start`,
    run: (seed: number) => dieAtFirstStart(`${point}#${chosenFor(seed, point, FIRST_APPENDS)}`),
  })),
  ...FIRST_NOTES.map((passing) => ({
    name: `killed before-note-put#${passing} by the first start`,
    run: () => dieAtFirstStart(`before-note-put#${passing}`),
  })),
];
