import { describe, test } from 'vitest';
import type { SuppressionEvent } from '../../../src/domain/kernel/events.ts';
import { addSuppression, type Suppression, suppression } from '../../../src/domain/suppression/suppression.ts';
import { NOW, positionOf, specify } from '../../support/specification.ts';

type Added = Extract<SuppressionEvent, { type: 'SuppressionAdded' }>;

const source = { messageId: 'msg_1', recipientId: 'rcp_1', eventId: 'event-1' };
const known = { suppressionId: 'sup_1', digest: 'digest-1', contentId: 'content-1' };

const added = (data: Partial<Added['data']>): Added => ({
  type: 'SuppressionAdded',
  data: { ...known, reason: 'manual', scope: 'all', expiresAt: null, source, ...data },
});
const bounced = added({ reason: 'bounce' });

describe('an opt-in and an unsubscription of the same millisecond', () => {
  const { given } = specify(suppression);
  const left = (topicId?: string) =>
    added({ reason: 'unsubscribe', ...(topicId === undefined ? { scope: 'bulk' } : { scope: 'topic', topicId }) });
  const optedIn = (topicId: string | null, by: typeof source | null): SuppressionEvent => ({
    type: 'AddressResubscribed',
    data: { ...known, topicId, source: by },
  });
  const reaches =
    ({ data }: Added, causedAt: string) =>
    (state: Suppression) =>
      addSuppression(state, { ...data, now: NOW, causedAt });

  test.each([
    ['from the topic, recorded by the sender', left('top_1'), optedIn('top_1', null)],
    ['from the topic, on the page', left('top_1'), optedIn('top_1', source)],
    ['from all mail, then asked for a topic on the page', left(), optedIn('top_1', source)],
    ['from all mail, then subscribed again', left(), optedIn(null, source)],
  ])('%s: the later one in the log counts', (_, unsubscription, optIn) => {
    given([bounced, optIn])
      .when(reaches(unsubscription, positionOf(1)))
      .thenNothing();
    given([bounced, optIn])
      .when(reaches(unsubscription, positionOf(3)))
      .thenEvents(unsubscription);
  });
  test.each([
    ['of another topic', left('top_1'), optedIn('top_2', source)],
    ['to all mail but topics', left('top_1'), optedIn(null, source)],
    ['to a topic by the sender, of all mail', left(), optedIn('top_1', null)],
    ['of an address that bounced', bounced, optedIn('top_1', source)],
  ])('%s: the opt-in removes nothing', (_, entry, optIn) => {
    given([optIn])
      .when(reaches(entry, positionOf(0)))
      .thenEvents(entry);
  });
});
