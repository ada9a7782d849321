import { describe, test } from 'vitest';
import { acceptMessage } from '../../../src/domain/message/accept-message.ts';
import { message } from '../../../src/domain/message/message.ts';
import { messageAccepted } from '../../support/controls/message.ts';
import { specify } from '../../support/specification.ts';

const request = (bodyDigest: string | null) => messageAccepted({ bodyDigest }).data;

describe('accepting a message', () => {
  const { given } = specify(message);

  test('records it once', () => {
    given([])
      .when((state) => acceptMessage(state, request(null)))
      .thenEvents(messageAccepted());
  });
  test('again with the same request body changes nothing', () => {
    given([messageAccepted({ bodyDigest: 'same' })])
      .when((state) => acceptMessage(state, request('same')))
      .thenNothing();
  });
  test('again with another request body is refused', () => {
    given([messageAccepted({ bodyDigest: 'one' })])
      .when((state) => acceptMessage(state, request('other')))
      .thenRefused('idempotency_key_reused');
  });
});
