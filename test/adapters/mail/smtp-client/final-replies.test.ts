import { expect, test } from 'vitest';
import { refusalOutcome } from '../../../../src/adapters/mail/outcomes.ts';
import { suppresses } from '../../../../src/domain/bounce/categories.ts';
import { classifyReply } from '../../../../src/domain/bounce/classify.ts';
import { parseReply, type SmtpStage } from '../../../../src/lib/smtp/smtp.ts';

const judged = (stage: SmtpStage, text: string) => {
  const reply = parseReply(text);
  return [refusalOutcome(stage, reply), suppresses(classifyReply({ ...reply, mx: null, stage }))];
};

test.each([
  ['mail', '550 5.7.23 The message was rejected because of Sender Policy Framework violation'],
  ['mail', '553 5.1.8 <a@c.test>... Domain of sender address a@c.test does not exist'],
  ['mail', "550 5.7.26 Unauthenticated email from c.test is not accepted due to domain's DMARC policy"],
  ['mail', '501 5.1.7 Bad sender address syntax'],
  ['recipient', '501 Syntax error in parameters'],
  ['recipient', '504 Command parameter not implemented'],
  ['content', '554 5.4.6 Too many hops'],
  ['content', '554 5.4.0 Error: too many hops'],
  ['content', '500 Line too long'],
] as const)('at %s is final and suppresses no address: %s', (stage, text) => {
  expect(judged(stage, text)).toEqual(['bounced', false]);
});

test('an address that the other side cannot write is final, and blames the address', () => {
  expect(judged('recipient', '501 5.1.3 Bad recipient address syntax')).toEqual(['bounced', true]);
  expect(judged('recipient', '553 5.1.3 Invalid sender address')).toEqual(['bounced', false]);
});

test.each([
  ['mail', '550 No'],
  ['mail', '554 5.3.2 Service currently unavailable'],
  ['mail', '530 5.7.0 Must issue a STARTTLS command first'],
  ['recipient', '503 5.5.1 Bad sequence of commands'],
  ['content', '500 Command not recognized'],
  ['session', '554 5.7.26 SPF failed'],
] as const)('at %s is temporary: %s', (stage, text) => {
  expect(judged(stage, text)[0]).toBe('deferred');
});
