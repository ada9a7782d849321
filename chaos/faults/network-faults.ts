import { setTimeout as sleep } from 'node:timers/promises';
import type { TcpProxy } from '../../test/support/tcp-proxy.ts';
import type { Random } from '../simulation/random.ts';

/** A fault of the network to one dependency. */
export interface NetworkFault {
  readonly name: string;
  /** True if replies get lost, so that a program cannot know the outcome of a request. */
  readonly losesReplies: boolean;
  /** Applies the fault for some seconds and then repairs it. */
  befall(proxy: TcpProxy, random: Random): Promise<void>;
}

/**
 * Longer than any time-out for a single packet and shorter than those for whole commands: a typical outage, shortened.
 */
const LASTS_MS = 3_000;
/** Longer than the programs wait for a response here (`chaos/service-with-faults.ts`), SMTP included. */
const SILENCE_MS = 6_000;

/** Delay in each direction. */
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

/** One direction is silent, and its data is eventually lost. */
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

/** Time after which a server's operating system closes a connection whose keep-alives, if any, get no answer. */
const NOTICED_MS = 20_000;

/** The connection is dropped without notice to either side. */
const forgetful: NetworkFault = {
  name: 'forgetful of connections',
  losesReplies: true,
  befall: async (proxy) => {
    proxy.forget(NOTICED_MS);
    await sleep(LASTS_MS);
  },
};

export const NETWORK_FAULTS: readonly NetworkFault[] = [latency, cut, halfOpen, singleBytes, reset, forgetful];
