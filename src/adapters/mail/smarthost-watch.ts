import type { Logger } from '../../domain/logger.ts';
import type { RecipientOutcome } from '../../domain/mail-transport.ts';
import type { System } from '../../domain/system.ts';
import { SMARTHOST_REMEDIES, type SmarthostProblem, smarthostProblem } from './smarthost-problem.ts';
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
/** RFC 4954 §6: credentials are asked for. */
const AUTHENTICATION_REQUIRED = 530;

interface Said {
  readonly code: number;
  readonly enhanced: string | null;
}

export const createSmarthostWatch = ({ host, port, system, logger }: SmarthostWatchOptions): SmarthostWatch => {
  let workedMs = Number.NEGATIVE_INFINITY;
  /** Null: all is well. */
  let toldMs: number | null = null;

  const tell = (problem: SmarthostProblem, { code, enhanced }: Said): void => {
    const nowMs = system.monotonicMs();
    if (nowMs - workedMs < WORKING_MS || (toldMs !== null && nowMs - toldMs < AGAIN_MS)) return;
    toldMs = nowMs;
    logger.error({ host, port, code, enhanced }, `no mail leaves by the smarthost: ${SMARTHOST_REMEDIES[problem]}`);
  };

  const works = (): void => {
    workedMs = system.monotonicMs();
    if (toldMs === null) return;
    toldMs = null;
    logger.info({ host, port }, 'mail leaves by the smarthost again');
  };

  return {
    failed: (error) => tell(smarthostProblem(error), error.reply),
    answered: (outcomes) => {
      const wanted = outcomes.find(({ code }) => code === AUTHENTICATION_REQUIRED);
      if (wanted !== undefined) tell('login_wanted', wanted);
      else if (outcomes.some(({ stage, code }) => code > 0 && (stage === 'recipient' || stage === 'content'))) works();
    },
  };
};
