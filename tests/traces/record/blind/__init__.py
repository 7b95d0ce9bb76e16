"""Programs written by somebody who had not read the rules, so that the diagnosis can be judged on them. Each returns, for
`repaired` or not, the function that runs one step; CAUSES says what the ledger of the faulty form should name first."""
