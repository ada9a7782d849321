import { expect, test } from 'vitest';
import type { ExistingMessage } from '../../../src/domain/message/message.ts';
import { reportOf } from '../../../src/workers/messages/outcomes.ts';

const said = { recipientId: 'rcp_1', enhanced: '5.6.7', mx: 'mx.b.test', tls: null, text: 'SMTPUTF8 is not offered' };
const message = { organizationId: 'org_1', accepted: { messageId: 'msg_1' } } as ExistingMessage;

test.each([true, false])(
  'who cannot be written to was refused, whether the service is stopping (%s) or not',
  (stopping) => {
    const { outcomes } = reportOf(message, [{ ...said, code: 0, outcome: 'bounced' }], { uuid: () => 'id', stopping });
    expect(outcomes).toMatchObject([{ outcome: 'bounced', reason: 'the other side refused it for good' }]);
  },
);

test.each([
  [true, 0, 'the service was stopping'],
  [true, 451, 'the other side may accept it later'],
  [false, 0, 'no answer from the other side'],
  [false, 451, 'the other side may accept it later'],
])('who is to be tried again is told why: stopping %s, reply %d', (stopping, code, reason) => {
  const { outcomes } = reportOf(message, [{ ...said, code, outcome: 'deferred' }], { uuid: () => 'id', stopping });
  expect(outcomes).toMatchObject([{ outcome: 'deferred', reason }]);
});
