import { StartRefused } from '../domain/start-refused.ts';

/** What a process does that outlives it, or that the world sees: it can be killed right before and right after each. */
const STEPS = [
  'append-accepted',
  /** Mail of a domain that is paused or warmed up waits. */
  'append-held',
  'append-started',
  'append-outcome',
  'append-lost',
  /** Recipients that end without an attempt. */
  'append-unsent',
  /** What a mail that came back says, before its sender is answered. */
  'append-report',
  /** By the link in a mail. */
  'append-unsubscription',
  'append-suppression',
  /** A destination gets nothing for a while. */
  'append-suspension',
  /** A share of what a domain that is warmed up may send today. */
  'append-places',
  /** What follows from bounces and complaints. */
  'append-standing',
  /** What waits goes on: for a destination, of a domain or an organization, or a warm-up that is ended. */
  'append-release',
  /** New keys of a domain, whose private halves are in the vault. */
  'append-keys',
  /** What was seen of a domain in the DNS, and each of its consequences. */
  'append-check',
  /** Former keys of a domain, whose private halves the vault holds no more. */
  'append-destroyed',
  'append-other',
  'contents-put',
  /** Of an organization. Rows of the service itself are `note-put`: a start writes some, and would die of the first. */
  'secret-put',
  'secret-destroy',
  'note-put',
  'queue-add',
  /** From a job's arrival until its handler ends, which is before the queue is told. */
  'queue-work',
  'mail-send',
  /** The commit of a read model's batch with its checkpoint. */
  'checkpoint',
  'webhook-record',
  'webhook-claim',
  'webhook-post',
  'webhook-finish',
] as const;
export type FailStep = (typeof STEPS)[number];

export type FailPointName = `${'before' | 'after'}-${FailStep}`;

export const FAIL_POINTS: readonly FailPointName[] = STEPS.flatMap(
  (step) => [`before-${step}`, `after-${step}`] as const,
);

/** Where a process dies, and the how manieth time it comes there (from 1). */
export interface FailPoint {
  readonly name: FailPointName;
  readonly passing: number;
}

const isName = (name: string): name is FailPointName => FAIL_POINTS.some((each) => each === name);

/** `<name>` or `<name>#<passing>`. @throws {StartRefused} there is no such point. */
export const readFailPoint = (text: string | undefined): FailPoint | null => {
  if (text === undefined || text === '') return null;
  const [, name = '', passing = '1'] = /^([^#]*)(?:#([1-9]\d{0,8}))?$/.exec(text) ?? [];
  if (isName(name)) return { name, passing: Number(passing) };
  throw new StartRefused(
    `OUTBOX_FAIL_POINT: there is no fail point ${JSON.stringify(text)}: unset it, or set one of ${FAIL_POINTS.join(', ')}, with #2 for the second passing`,
  );
};

/** Called where a point is passed. */
export type PassPoint = (name: FailPointName) => void;

/** Counts passings, and ends this process at the given one as a power cut would: nothing is closed, nothing is said. */
export const createPassPoint = ({ name, passing }: FailPoint): PassPoint => {
  let left = passing;
  return (passed) => {
    if (passed !== name) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
};
