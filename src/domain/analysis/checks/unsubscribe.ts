import { type Check, discovery } from '../discovery.ts';
import type { MessageFacts } from '../facts.ts';

const headerOf = ({ headers }: MessageFacts, name: string): string | undefined =>
  Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];

/** RFC 8058: an https address, and the promise that a POST suffices; with `unsubscribe` the service makes it. */
const isOneClick = (facts: MessageFacts): boolean => {
  const { unsubscribe: ways } = facts;
  if (ways === undefined) return headerOf(facts, 'list-unsubscribe-post') !== undefined;
  return ways === 'managed' || (ways.url?.startsWith('https://') ?? false);
};

/** Whoever gets bulk mail can get rid of it. */
export const unsubscribe: Check = function* (facts) {
  if (facts.stream !== 'bulk') return;
  if (facts.unsubscribe === undefined && headerOf(facts, 'list-unsubscribe') === undefined) {
    yield discovery('unsubscribe-missing', 'unsubscribe', 'bulk mail has no way to unsubscribe');
  } else if (!isOneClick(facts)) {
    yield discovery('unsubscribe-not-one-click', 'unsubscribe', 'unsubscribing takes more than one click');
  }
};
