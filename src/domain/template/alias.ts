import { isId } from '../kernel/ids.ts';

/** Names by which sends refer to templates. */

const ALIAS = /^[a-z0-9-]{1,64}$/;

export const isAlias = (name: string): boolean => ALIAS.test(name);

/**
 * Converts another service's template name to an alias: `Order_Sent.v2` becomes `order-sent-v2`. Ids of this service
 * are unchanged.
 */
export const aliasOf = (name: string): string =>
  isId('tpl', name) ? name : name.toLowerCase().replaceAll(/[_.\s]/g, '-');
