/** @param iso ISO 8601 in UTC, as the log has it. */
export const atTime = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`;
