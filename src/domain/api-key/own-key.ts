import { DomainError } from '../domain-error.ts';
import { requireOwn } from '../ownership.ts';
import type { ApiKey, ExistingApiKey } from './api-key.ts';

/** The key, if it is the caller's and was not deleted. @throws {DomainError} `not_found`, `other_organization`. */
export const requireOwnKey = (state: ApiKey, organizationId: string): ExistingApiKey => {
  const key = requireOwn(state, organizationId, 'API key');
  if (key.status === 'deleted') throw new DomainError('not_found', 'API key not found');
  return key;
};
