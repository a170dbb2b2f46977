//! Following.
use crate::core::ids::SessionKey;
use crate::core::view::FollowView;
use nvim_oxi::mlua;
pub fn show(_session: SessionKey, _view: FollowView) -> mlua::Result<()> {
    Ok(())
}
