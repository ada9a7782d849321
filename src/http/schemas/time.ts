import { z } from 'zod';

/** ISO 8601 in UTC with milliseconds. */
export const timeShape = () => z.iso.datetime({ precision: 3 });
