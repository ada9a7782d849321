import { z } from 'zod';

/** HTML that a person is shown: of use to nobody else. */
export const pageShape = z.string();
