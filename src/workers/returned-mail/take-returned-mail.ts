import type { CommandContext } from '../../commands/context.ts';
import { type ReportOutcome, recordReport } from '../../commands/message/record-report.ts';
import { unsubscribeByMail } from '../../commands/message/unsubscribe-by-mail.ts';
import type { ReturnedMail } from '../../domain/bounce/report.ts';
import type { Logger } from '../../domain/logger.ts';
import type { ReturnToken } from '../../domain/message/return-path.ts';
import type { System } from '../../domain/system.ts';
import { persistently } from '../persistently.ts';

/** A mail that came back, and where to; null: the address for feedback loops. */
export interface Returned {
  readonly tokens: readonly (ReturnToken | null)[];
  readonly mail: ReturnedMail;
}

export interface TakeReturnedMail {
  readonly context: Pick<CommandContext, 'store' | 'secrets' | 'contents' | 'system'>;
  readonly system: Pick<System, 'sleep'>;
  readonly logger: Logger;
}

const SENTENCES: Readonly<Record<ReportOutcome, string>> = {
  recorded: 'what came back was recorded',
  unchanged: 'what came back says nothing new',
  unmatched: 'what came back is about nobody that the message went to',
  forged: 'what came back does not prove that it is about a message of ours',
};

/**
 * Does what a mail that came back asks for. Resolves once that is in the log, or nothing has to be; rejects when it
 * cannot be known (storage is away), so that the other side brings it again: a second time changes nothing.
 */
export const createTakeReturnedMail =
  ({ context, system, logger }: TakeReturnedMail) =>
  async ({ tokens, mail }: Returned): Promise<void> => {
    const { report } = mail;
    for (const token of tokens) {
      const outcome = await persistently(system, () =>
        token?.purpose === 'unsubscribe' ? unsubscribeByMail(context, token) : recordReport(context, { token, mail }),
      );
      const why = report.kind === 'nothing' ? { why: report.why } : {};
      const fields = { kind: token?.purpose === 'unsubscribe' ? 'unsubscription' : report.kind, outcome, ...why };
      logger.info(fields, SENTENCES[outcome]);
    }
  };
