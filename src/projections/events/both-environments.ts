/** Stands for "live and test" in the column `environment` of the feed, where null could not be looked up by index. */
export const BOTH_ENVIRONMENTS = 'both';
