//! `outcallctl rules reload`: the daemon reads its rules anew.

use anyhow::bail;

use super::arguments::HostArguments;
use super::host::ask;
use super::status::lines;

/// The exit code where the rules are wrong.
const INVALID: u8 = 3;
const UNPROCESSABLE: u16 = 422;

pub(super) fn reload(arguments: &HostArguments) -> anyhow::Result<u8> {
    let answer = ask(&arguments.host_socket, "POST", "/v1/rules/reload")?;
    match answer.data() {
        Ok(data) if arguments.json => println!("{data}"),
        Ok(data) => {
            let digest = data["digest"].as_str().unwrap_or_default();
            let digest = digest.get(..12).unwrap_or(digest);
            let (count, generation) = (&data["count"], &data["generation"]);
            println!("{count} rules in force, generation {generation}, digest {digest}");
        }
        Err(_) if answer.status == UNPROCESSABLE && arguments.json => {
            println!("{}", answer.body);
            return Ok(INVALID);
        }
        Err(reason) if answer.status == UNPROCESSABLE => {
            eprintln!("{}", lines(&reason));
            eprintln!("outcallctl: rules not reloaded, the old ones stay in force");
            return Ok(INVALID);
        }
        Err(reason) => bail!("{}", lines(&reason)),
    }
    Ok(0)
}
