import { type Evidence, readEvidence } from './evidence.ts';
import { openObserver } from './observer.ts';
import { comeToRest } from './rest.ts';
import { acceptedIsSettled } from './verdicts/accepted-is-settled.ts';
import { domainsAreWhole } from './verdicts/domains-are-whole.ts';
import { noStrangeMail } from './verdicts/no-strange-mail.ts';
import { type Doubles, oneCopy } from './verdicts/one-copy.ts';
import { readModelsAreAsRebuilt } from './verdicts/read-models-are-as-rebuilt.ts';
import { suppressedOnce } from './verdicts/suppressed-once.ts';
import { webhooksWereTold } from './verdicts/webhooks-were-told.ts';
import type { Violation } from './violation.ts';
import type { World } from './world.ts';

export interface Judging {
  /** Time for everything to come to rest: leases, the five seconds after a lost attempt, and webhook leases. */
  readonly restMs?: number;
  readonly doubles?: Doubles;
  /** Checks beyond those that apply to every scenario. */
  readonly more?: (evidence: Evidence) => readonly Violation[];
}

const REST_MS = 90_000;

/** Promises that the evidence shows to be broken. */
export const violationsIn = (evidence: Evidence, doubles: Doubles = 'in the window'): readonly Violation[] => [
  ...acceptedIsSettled(evidence),
  ...noStrangeMail(evidence),
  ...oneCopy(evidence, doubles),
  ...readModelsAreAsRebuilt(evidence),
  ...webhooksWereTold(evidence),
  ...suppressedOnce(evidence),
  ...domainsAreWhole(evidence),
];

/** Waits for rest and compares all observations. Programs of all roles must be running. */
export const judge = async (world: World, judging: Judging = {}): Promise<readonly Violation[]> => {
  const { restMs = REST_MS, doubles = 'in the window', more = () => [] } = judging;
  const observer = await openObserver(world);
  try {
    const unrest = await comeToRest(observer, restMs);
    const evidence = await readEvidence(world, observer);
    const violations = [...violationsIn(evidence, doubles), ...more(evidence)];
    if (unrest === null) return violations;
    return [{ promise: 'scenario', what: `not at rest after ${restMs} ms: ${unrest}` }, ...violations];
  } finally {
    await observer.close();
  }
};
