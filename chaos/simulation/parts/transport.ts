import type {
  EnvelopeRecipient,
  MailTransport,
  OutgoingMail,
  RecipientOutcome,
  SendOptions,
} from '../../../src/domain/ports/mail.ts';
import type { Ground } from '../ground.ts';
import type { Fate, Process } from '../process.ts';
import type { PostOffice, Verdict } from './post-office.ts';

interface SmtpResult {
  readonly outcome: 'delivered' | 'deferred' | 'bounced' | 'unknown';
  readonly code: number;
  readonly enhanced?: string;
  /** Stage at which the attempt failed; absent: after the envelope started. */
  readonly stage?: 'connect' | 'session';
}

const TAKEN: SmtpResult = { outcome: 'delivered', code: 250 };
const LATER: SmtpResult = { outcome: 'deferred', code: 451 };
/** Permanent, because of the address. */
const REFUSED: SmtpResult = { outcome: 'bounced', code: 550, enhanced: '5.1.1' };
/** The connection failed before anything was sent. */
const CUT: SmtpResult = { outcome: 'deferred', code: 0 };
/** The final dot was sent and no reply arrived. */
const IN_DOUBT: SmtpResult = { outcome: 'unknown', code: 0 };

/** Temporary unavailability (RFC 5321 §3.8). */
const BUSY: SmtpResult = { outcome: 'deferred', code: 421, stage: 'session' };
const AWAY: SmtpResult = { outcome: 'deferred', code: 0, stage: 'connect' };

const RESULTS: Readonly<Record<Verdict, SmtpResult>> = { taken: TAKEN, later: LATER, refused: REFUSED };

const outcomeOf = (
  { recipientId }: EnvelopeRecipient,
  { outcome, code, enhanced, stage }: SmtpResult,
): RecipientOutcome => ({
  ...(stage === undefined ? {} : { stage }),
  recipientId,
  outcome,
  code,
  enhanced: enhanced ?? null,
  mx: 'mx.example.net',
  tls: null,
  text: `said ${code}`,
});

/** Maximum delay between two commands of a session. */
const COMMAND_MS_MAX = 40;
const CUT_MS_MAX = 2000;
/** Longer than any caller should wait. */
const HANG_MS = 60_000;

/**
 * SMTP as one process uses it. It keeps the promises of the port (no final dot after the deadline; in doubt once it was
 * sent), while the receiving server behaves arbitrarily.
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

  /** Ends the transaction before anything is sent; null: no problem. */
  const trouble = async (options: SendOptions): Promise<SmtpResult | null> => {
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

  /** Sends the final dot and waits for the reply until the deadline. */
  const dot = async (
    mail: OutgoingMail,
    to: readonly EnvelopeRecipient[],
    options: SendOptions,
  ): Promise<SmtpResult> => {
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

  /** Result of connecting to servers with an outage; null: they are healthy. */
  const connect = async (to: readonly EnvelopeRecipient[], options: SendOptions): Promise<SmtpResult | null> => {
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
    if (beforeEnvelope !== null) return to.map((each) => outcomeOf(each, beforeEnvelope));
    const verdicts = new Map(to.map((each) => [each, office.verdict(each)]));
    const taken = to.filter((each) => verdicts.get(each) === 'taken');
    await command(options);
    const beforeDot = await trouble(options);
    const end = beforeDot ?? (taken.length === 0 ? CUT : await dot(mail, taken, options));
    return to.map((each) => {
      const verdict = verdicts.get(each) ?? 'later';
      return outcomeOf(each, verdict === 'taken' ? end : RESULTS[verdict]);
    });
  };

  const inSession: typeof send = (mail, options) => {
    const session = {};
    office.sessions.set(session, process);
    return send(mail, options).finally(() => office.sessions.delete(session));
  };

  return { send: inSession, close: async () => undefined };
};
