import type { TrackingKeys } from '../../src/domain/tracking/tracking.ts';

/** Tracking keys of a service in a test. */
export const TRACKING_KEYS: TrackingKeys = [{ id: Buffer.from([1, 2]), bytes: Buffer.alloc(32, 7) }];
