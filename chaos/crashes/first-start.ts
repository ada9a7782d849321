import { askIn } from '../harness/asking.ts';
import { chosenFor } from '../harness/order.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import { inWorld } from './in-world.ts';
import type { Passing } from './passing.ts';
import { sendAll } from './send-all.ts';

/** What the first start appends: an organization, a domain and two keys. (Where mail is captured it also verifies.) */
const FIRST_APPENDS = 4;
/** It notes how it sends, that keys are to be made, and that they were shown. */
const FIRST_NOTES = [1, 2, 3] as const;

/** The next start completes it, and the keys that it prints work. */
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
