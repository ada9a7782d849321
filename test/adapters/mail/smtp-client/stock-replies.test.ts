import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { refusalOutcome } from '../../../../src/adapters/mail/outcomes.ts';
import { classifyReply } from '../../../../src/domain/bounce/classify.ts';
import { feedbackOf } from '../../../../src/domain/destination/pacing.ts';
import { parseReply, type SmtpStage } from '../../../../src/lib/smtp/smtp.ts';

interface Stock {
  readonly program: string;
  readonly stage: SmtpStage;
  readonly category: string;
  /** `bounced`, or the feedback about the destination. */
  readonly then: string;
  readonly text: string;
}

const STOCK = readFileSync(new URL('../../../fixtures/stock-replies.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line): Stock => {
    const [program = '', stage, category = '', then = '', text = ''] = line.split('\t');
    return { program, stage: stage as SmtpStage, category, then, text };
  });

test.each(STOCK)('$program at $stage is $category, $then: $text', ({ stage, category, then, text }) => {
  const reply = parseReply(text);
  const judged = classifyReply({ ...reply, mx: 'mx.b.test', stage });
  const outcome = refusalOutcome(stage, reply);
  const smtp = { ...reply, mx: 'mx.b.test', tls: null, replyId: null, stage };
  const feedback = feedbackOf([{ recipientId: 'rcp_1', outcome: 'deferred', reason: '', category: judged, smtp }], 10);
  expect([judged, outcome === 'bounced' ? outcome : feedback]).toEqual([category, then]);
});
