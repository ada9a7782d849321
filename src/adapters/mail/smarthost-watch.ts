import type { Logger } from '../../domain/ports/logger.ts';
import type { RecipientOutcome } from '../../domain/ports/mail-transport.ts';
import type { System } from '../../domain/ports/system.ts';
import { problemOfRefusal, SMARTHOST_REMEDIES, type SmarthostProblem, smarthostProblem } from './smarthost-problem.ts';
import type { SmtpConnectFailed } from './smtp-session.ts';

/** Says in the log when no mail leaves by the smarthost, what to do about it, and when mail leaves again. */
export interface SmarthostWatch {
  /** No session came about. */
  failed(error: SmtpConnectFailed): void;
  /** What the smarthost answered to a message. */
  answered(outcomes: readonly RecipientOutcome[]): void;
}

export interface SmarthostWatchOptions {
  readonly host: string;
  readonly port: number;
  readonly system: Pick<System, 'monotonicMs'>;
  readonly logger: Logger;
}

/** Shorter fills the log with what is known, longer lets it be overlooked. */
const AGAIN_MS = 600_000;
/**
 * Since a message was taken: some sessions are refused by servers that take mail over others, which is no fault. Longer
 * is silent for as long about a password that was changed.
 */
const WORKING_MS = 30_000;
interface Said {
  readonly code: number;
  readonly enhanced: string | null;
}

/** Of a session that works: it was told of a recipient or a message. */
const isAnswer = ({ stage, code }: RecipientOutcome): boolean =>
  code > 0 && (stage === 'recipient' || stage === 'content');

export const createSmarthostWatch = ({ host, port, system, logger }: SmarthostWatchOptions): SmarthostWatch => {
  let workedMs = Number.NEGATIVE_INFINITY;
  /** Null: all is well. */
  let toldMs: number | null = null;
  let refusedMs = Number.NEGATIVE_INFINITY;

  const isWorking = (): boolean => system.monotonicMs() - workedMs < WORKING_MS;

  const tell = (problem: SmarthostProblem, { code, enhanced }: Said): void => {
    const nowMs = system.monotonicMs();
    if (isWorking() || (toldMs !== null && nowMs - toldMs < AGAIN_MS)) return;
    toldMs = nowMs;
    logger.error({ host, port, code, enhanced }, `no mail leaves by the smarthost: ${SMARTHOST_REMEDIES[problem]}`);
  };

  /** It takes other mail, but this is about us too. */
  const tellOfSome = (problem: SmarthostProblem, { code, enhanced }: Said): void => {
    const nowMs = system.monotonicMs();
    if (nowMs - refusedMs < AGAIN_MS) return;
    refusedMs = nowMs;
    const sentence = `some mail does not leave by the smarthost, and waits: ${SMARTHOST_REMEDIES[problem]}`;
    logger.error({ host, port, code, enhanced }, sentence);
  };

  const tellOfRefusal = (problem: SmarthostProblem, said: Said): void =>
    isWorking() ? tellOfSome(problem, said) : tell(problem, said);

  const works = (): void => {
    workedMs = system.monotonicMs();
    if (toldMs === null) return;
    toldMs = null;
    logger.info({ host, port }, 'mail leaves by the smarthost again');
  };

  return {
    failed: (error) => tell(smarthostProblem(error), error.reply),
    answered: (outcomes) => {
      const told = outcomes.map((said) => ({ said, problem: problemOfRefusal(said) }));
      for (const { said, problem } of told) if (problem !== null) tellOfRefusal(problem, said);
      if (told.some(({ said, problem }) => problem === null && isAnswer(said))) works();
    },
  };
};
