import { describe, expect, test } from 'vitest';
import { messageState, outcomesOf, withoutReply } from '../../../src/dashboard/messages/outcome-words.ts';

type Step = Parameters<typeof withoutReply>[0];

const step = (sentence: string, smtp?: { code: number; enhanced: string | null; text: string | null }): Step =>
  ({ sentence, facts: smtp === undefined ? {} : { smtp } }) as Step;

describe('a step of the timeline', () => {
  test('leaves out the reply that is shown below it', () => {
    const text = 'No such user (see https://example.net/why). Bye';
    const quoted = `Bounced for a@example.net: mx says that the mailbox does not exist (550 5.1.1 "${text}", in reply to the recipient). It is (really) over.`;
    expect(withoutReply(step(quoted, { code: 550, enhanced: '5.1.1', text: `${text}\r\n` }))).toBe(
      'Bounced for a@example.net: mx says that the mailbox does not exist. It is (really) over.',
    );
  });

  test('leaves out a reply that was cut, one without a text and one without a code', () => {
    const long = `${')'.repeat(300)}`;
    expect(
      withoutReply(step(`Failed (550 "${long.slice(0, 200)}…"). End.`, { code: 550, enhanced: null, text: long })),
    ).toBe('Failed. End.');
    expect(withoutReply(step('Failed (550 5.1.1). End.', { code: 550, enhanced: '5.1.1', text: null }))).toBe(
      'Failed. End.',
    );
    expect(withoutReply(step('Failed (4.4.1 "x"). End.', { code: 0, enhanced: '4.4.1', text: 'x' }))).toBe(
      'Failed. End.',
    );
  });

  test('keeps a sentence that quotes no reply', () => {
    const sentence = 'Attempt 1 started for a@example.net (example.net).';
    expect(withoutReply(step(sentence))).toBe(sentence);
    expect(withoutReply(step(sentence, { code: 0, enhanced: null, text: null }))).toBe(sentence);
  });
});

test('a partly delivered message has a state of its own and says how many recipients have it', () => {
  const recipients = ['delivered', 'bounced', 'delivered'].map((status) => ({ status }));
  expect(messageState({ status: 'delivered', partial: true, recipients } as never)).toEqual({
    state: 'partly',
    word: 'Partly delivered, 2 of 3',
  });
  expect(messageState({ status: 'delivered', partial: false, recipients } as never)).toEqual({ state: 'delivered' });
});

test('a recipient has the outcome of its status, and of what the person did', () => {
  const recipient = { status: 'delivered', opened: true, clicked: false, complained: true, unsubscribed: false };
  expect(outcomesOf(recipient as never)).toEqual(['delivered', 'opened', 'complained']);
});
