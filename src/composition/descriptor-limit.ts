/** Open files that this process may have. The report takes some 40 ms: ask once, at the start. */
export const descriptorLimit = (): number => {
  // Node has `excludeNetwork`, but no type for it.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const before = report.excludeNetwork;
  report.excludeNetwork = true; // the report would look up names
  const { userLimits } = report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | string } };
  };
  report.excludeNetwork = before;
  const limit = Number(userLimits?.open_files?.soft);
  return Number.isNaN(limit) ? Number.POSITIVE_INFINITY : limit;
};
