const SIZES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;
/** Formats 840 B or 1.2 GB in decimal units. */
export const bytes = (value: number): string => {
  const at = Math.min(SIZES.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  const shown = value / 1000 ** at;
  return `${shown >= 100 || at === 0 ? Math.round(shown) : Number(shown.toFixed(1))} ${SIZES[at]}`;
};
