import { describe, expect, it } from 'vitest';
import { createPostOffice } from '../post-office.ts';

const { sent } = createPostOffice();

const feedbackIds = async (parts: Parameters<typeof sent>[0]) =>
  (await sent(parts)).headerLines.filter(({ key }) => key === 'feedback-id').map(({ line }) => line);

describe('Feedback-ID', () => {
  it('is written if there is one', async () => {
    expect(await feedbackIds({})).toEqual([]);
    expect(await feedbackIds({ feedbackId: 'campaign:customer:bulk:outbox' })).toEqual([
      'Feedback-ID: campaign:customer:bulk:outbox',
    ]);
  });

  it('is the sender’s, if given', async () => {
    const headers = { 'feedback-id': 'his:own:one:sender' };
    expect(await feedbackIds({ headers, feedbackId: 'a:b:c:outbox' })).toEqual(['feedback-id: his:own:one:sender']);
  });

  it('adds no header and no line, whatever its value', async () => {
    for (const feedbackId of ['a\r\nBcc: x@y.test', 'a\0b', 'x'.repeat(10_000), 'ü', '']) {
      const mail = await sent({ feedbackId });
      expect(mail.headerLines.map(({ key }) => key)).not.toContain('bcc');
      expect(mail.raw).toMatch(/^[\t\r\n -~]*$/);
    }
  });
});
