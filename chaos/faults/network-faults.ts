import { setTimeout as sleep } from 'node:timers/promises';
import type { TcpProxy } from '../../test/support/tcp-proxy.ts';
import type { Random } from '../simulation/random.ts';

/** What a network does to one dependency. */
export interface NetworkFault {
  readonly name: string;
  /** Whether replies get lost, so that a program cannot know what became of what it sent. */
  readonly losesReplies: boolean;
  /** Does it for some seconds, and mends it. */
  befall(proxy: TcpProxy, random: Random): Promise<void>;
}

/** Longer than any time-out for a lone packet, shorter than those for whole commands: the usual bad minute, condensed. */
const LASTS_MS = 3_000;
/** Longer than what programs wait for an answer on this machine (`chaos/service-with-faults.ts`), SMTP included. */
const SILENCE_MS = 6_000;

/** Each way. */
const latency: NetworkFault = {
  name: 'slow by a quarter of a second',
  losesReplies: false,
  befall: async (proxy, random) => {
    proxy.delay(random.between(100, 150));
    await sleep(LASTS_MS);
    proxy.mend();
  },
};

const cut: NetworkFault = {
  name: 'cut',
  losesReplies: true,
  befall: async (proxy, random) => {
    for (const waitMs of [random.between(200, 800), random.between(1_000, 1_500)]) {
      proxy.cut();
      await sleep(waitMs);
      proxy.mend();
      await sleep(random.between(300, 800));
    }
  },
};

/** One direction is silent; what was sent that way is lost in the end. */
const halfOpen: NetworkFault = {
  name: 'silent one way',
  losesReplies: true,
  befall: async (proxy, random) => {
    proxy.silence(random.pick(['to client', 'to server']));
    await sleep(SILENCE_MS);
    proxy.reset();
    proxy.mend();
  },
};

const singleBytes: NetworkFault = {
  name: 'one byte at a time',
  losesReplies: false,
  befall: async (proxy) => {
    proxy.trickle();
    await sleep(LASTS_MS);
    proxy.mend();
  },
};

const reset: NetworkFault = {
  name: 'reset again and again',
  losesReplies: true,
  befall: async (proxy, random) => {
    const endMs = performance.now() + LASTS_MS;
    while (performance.now() < endMs) {
      await sleep(random.between(20, 400));
      proxy.reset();
    }
  },
};

/** After which a server's system gives a connection up on which its signs of life get no answer, where it gives any. */
const NOTICED_MS = 20_000;

/** Nobody is told that a connection is of no use any more. */
const forgetful: NetworkFault = {
  name: 'forgetful of connections',
  losesReplies: true,
  befall: async (proxy) => {
    proxy.forget(NOTICED_MS);
    await sleep(LASTS_MS);
  },
};

export const NETWORK_FAULTS: readonly NetworkFault[] = [latency, cut, halfOpen, singleBytes, reset, forgetful];
