import { Gauge, type Registry } from 'prom-client';
import type { Backlog } from '../projections/deliveries/backlog.ts';

/** All figures of one scrape are of one look, and scrapes that overlap share it. */
const sharing = (look: () => Promise<Backlog>): (() => Promise<Backlog>) => {
  let looking: Promise<Backlog> | undefined;
  return () => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  };
};

/** Shows what waits in all of the service, when it is asked for: the same in each process. */
export const measureBacklog = (registry: Registry, look: () => Promise<Backlog>): void => {
  const backlog = sharing(look);
  const registers = [registry];
  new Gauge({
    ...{ name: 'outbox_deliveries_waiting', help: 'Messages that wait, for each domain of theirs, by the reason' },
    ...{ labelNames: ['reason'], registers },
    async collect() {
      const { waiting } = await backlog();
      for (const [reason, count] of Object.entries(waiting)) this.set({ reason }, count);
    },
  });
  new Gauge({
    ...{
      name: 'outbox_deliveries_oldest_due_age_seconds',
      help: 'How long the oldest that is due has been so',
      registers,
    },
    async collect() {
      this.set((await backlog()).oldestDueSeconds);
    },
  });
  new Gauge({
    ...{
      name: 'outbox_destinations_suspended',
      help: 'Operators of mail servers that get nothing for a while',
      registers,
    },
    async collect() {
      this.set((await backlog()).pausedDestinations);
    },
  });
};
