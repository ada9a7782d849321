import type {
  EnvelopeRecipient,
  MailTransport,
  OutgoingMail,
  RecipientOutcome,
  SendOptions,
} from '../../../src/domain/ports/mail-transport.ts';
import type { Ground } from '../ground.ts';
import type { Fate, Process } from '../process.ts';
import type { PostOffice, Verdict } from './post-office.ts';

interface Said {
  readonly outcome: 'delivered' | 'deferred' | 'bounced' | 'unknown';
  readonly code: number;
  readonly enhanced?: string;
  /** Where it came to before the envelope: absent: further. */
  readonly stage?: 'connect' | 'session';
}

const TAKEN: Said = { outcome: 'delivered', code: 250 };
const LATER: Said = { outcome: 'deferred', code: 451 };
/** For good, and because of the address. */
const REFUSED: Said = { outcome: 'bounced', code: 550, enhanced: '5.1.1' };
/** Nothing was sent. */
const CUT: Said = { outcome: 'deferred', code: 0 };
/** The final dot has left, and nothing came back. */
const IN_DOUBT: Said = { outcome: 'unknown', code: 0 };

/** RFC 5321 §3.8: not now. */
const BUSY: Said = { outcome: 'deferred', code: 421, stage: 'session' };
const AWAY: Said = { outcome: 'deferred', code: 0, stage: 'connect' };

const SAID: Readonly<Record<Verdict, Said>> = { taken: TAKEN, later: LATER, refused: REFUSED };

const told = ({ recipientId }: EnvelopeRecipient, { outcome, code, enhanced, stage }: Said): RecipientOutcome => ({
  ...(stage === undefined ? {} : { stage }),
  recipientId,
  outcome,
  code,
  enhanced: enhanced ?? null,
  mx: 'mx.example.net',
  tls: null,
  text: `said ${code}`,
});

/** Between two commands of a session. */
const COMMAND_MS_MAX = 40;
const CUT_MS_MAX = 2000;
/** Longer than any caller should wait. */
const HANG_MS = 60_000;

/**
 * SMTP as one process speaks it: it keeps the promises of the port (no final dot after the deadline; in doubt once it has
 * left), and the other side does what it likes.
 */
export const processTransport = (ground: Ground, office: PostOffice, process: Process): MailTransport => {
  const { faults, random, scheduler, latencyMs } = ground;
  const { system } = process;

  const isOver = ({ deadlineMs, signal }: SendOptions): boolean =>
    signal?.aborted === true || system.monotonicMs() >= deadlineMs;

  const wait = async (ms: number, { deadlineMs, signal }: SendOptions): Promise<void> => {
    await system.sleep(Math.min(ms, deadlineMs - system.monotonicMs()), signal).catch(() => undefined);
  };

  const command = async (options: SendOptions): Promise<void> => {
    process.peril();
    await wait(random.between(0, COMMAND_MS_MAX), options);
  };

  /** What ends a transaction before anything was sent; null: nothing did. */
  const trouble = async (options: SendOptions): Promise<Said | null> => {
    if (faults.strikes('smtp hangs')) await wait(HANG_MS, options);
    if (isOver(options) || faults.strikes('smtp refuses') || faults.strikes('smtp cut')) return CUT;
    return faults.strikes('smtp defers') ? LATER : null;
  };

  const dotFate = (): Fate => {
    if (!faults.strikes('smtp cut after the dot')) return { arrivesAfterMs: latencyMs(), failure: null };
    return {
      arrivesAfterMs: random.chance(0.5) ? latencyMs() : null,
      failure: { afterMs: random.between(1, CUT_MS_MAX), error: new Error('the session was cut') },
    };
  };

  /** The final dot leaves, and an answer is waited for until the deadline. */
  const dot = async (mail: OutgoingMail, to: readonly EnvelopeRecipient[], options: SendOptions): Promise<Said> => {
    const leftMs = scheduler.nowMs();
    const answered = new AbortController();
    const answer = process.call({
      what: `final dot of ${mail.messageId}`,
      work: async () => office.take(mail, to, { sender: process.name, leftMs }),
      fate: dotFate(),
    });
    const signals = [answered.signal, ...(options.signal === undefined ? [] : [options.signal])];
    const late = wait(HANG_MS, { ...options, signal: AbortSignal.any(signals) }).then(() => IN_DOUBT);
    const said = await Promise.race([
      answer.then(
        () => TAKEN,
        () => IN_DOUBT,
      ),
      late,
    ]);
    answered.abort();
    return said;
  };

  /** What comes of connecting to servers that have a bad day; null: they have none. */
  const connect = async (to: readonly EnvelopeRecipient[], options: SendOptions): Promise<Said | null> => {
    const mood = to[0] === undefined ? 'well' : office.mood(to[0]);
    if (mood === 'well') return null;
    if (mood === 'busy') return BUSY;
    if (random.chance(0.5)) await wait(HANG_MS, options);
    return AWAY;
  };

  const send = async (mail: OutgoingMail, options: SendOptions): Promise<readonly RecipientOutcome[]> => {
    const { to } = mail.envelope;
    await command(options);
    const beforeEnvelope = (await connect(to, options)) ?? (await trouble(options));
    if (beforeEnvelope !== null) return to.map((each) => told(each, beforeEnvelope));
    const verdicts = new Map(to.map((each) => [each, office.verdict(each)]));
    const taken = to.filter((each) => verdicts.get(each) === 'taken');
    await command(options);
    const beforeDot = await trouble(options);
    const end = beforeDot ?? (taken.length === 0 ? CUT : await dot(mail, taken, options));
    return to.map((each) => {
      const verdict = verdicts.get(each) ?? 'later';
      return told(each, verdict === 'taken' ? end : SAID[verdict]);
    });
  };

  const inSession: typeof send = (mail, options) => {
    const session = {};
    office.sessions.set(session, process);
    return send(mail, options).finally(() => office.sessions.delete(session));
  };

  return { send: inSession, close: async () => undefined };
};
