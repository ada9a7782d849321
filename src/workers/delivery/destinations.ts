import type { Environment } from '../../domain/environment.ts';
import type { Due } from './delivery-job.ts';

/** Who takes the mail of a domain. */
export interface Destinations {
  /** Operator of a domain's mail servers: domains with one operator are paced as one. Never fails. */
  operatorOf(domain: string): Promise<string>;
  /** Addresses of a domain's servers; asked for while its operator is suspended. Never fails. Absent: not known. */
  serversOf?(domain: string): Promise<readonly string[]>;
}

export interface Addressed {
  readonly messageId: string;
  readonly environment: Environment;
  readonly domains: readonly string[];
}

/**
 * What is due of a message: for each domain of its recipients where they have servers of their own, all of it where one
 * server takes everything. What is simulated goes nowhere.
 */
export const dueOf = (
  { messageId, environment, domains }: Addressed,
  destinations: Destinations | undefined,
): readonly Due[] =>
  destinations === undefined || environment === 'test'
    ? [{ messageId, destination: null }]
    : [...new Set(domains)].map((destination) => ({ messageId, destination }));
