import type { Config } from '../config.ts';
import { sourceDay } from '../domain/message/source-pools.ts';
import { countedFrom, NO_COUNTS, type ReputationCounts, sharesOf } from '../domain/reputation/reputation.ts';
import { dayOf } from '../domain/warm-up/warm-up.ts';
import { countsOfSources } from '../projections/reputation.ts';
import type { OperatorCommand } from './command.ts';

/** Which mail leaves from each address: all mail that no pool is for, or the names of its pools. */
const useOf = ({ sourceAddresses, sourcePools = new Map() }: Config, address: string): readonly string[] => [
  ...(sourceAddresses.includes(address) ? ['SOURCE_ADDRESSES'] : []),
  ...[...sourcePools].filter(([, addresses]) => addresses.includes(address)).map(([name]) => name),
];

export const listSourcesCommand: OperatorCommand = {
  name: 'sources list',
  usage: '',
  summary:
    'lists the IP addresses that mail leaves from, with their warm-up and what became of their mail in seven days',
  run: async ({ pool, system }, _, config) => {
    const now = system.now();
    const counts = new Map((await countsOfSources(pool, countedFrom(now))).map((each) => [each.source, each]));
    const { sourceAddresses, sourcePools = new Map(), sourceWarmUps = new Map() } = config;
    const addresses = new Set([...sourceAddresses, ...[...sourcePools.values()].flat(), ...counts.keys()]);
    return [...addresses].map((address) => {
      const counted: ReputationCounts = counts.get(address) ?? NO_COUNTS;
      const { bounces, complaints } = sharesOf(counted);
      const planned = sourceDay(sourceWarmUps, address, dayOf(now));
      return {
        address,
        sends: useOf(config, address).join(', '),
        warm_up_day: planned?.number ?? null,
        recipients_max: planned?.cap ?? null,
        delivered: counted.delivered,
        bounced: counted.bounced,
        bounced_percent: bounces.percent,
        complained: counted.complained,
        complained_percent: complaints.percent,
      };
    });
  },
};
