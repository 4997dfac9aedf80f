package org.waggle.reader

import androidx.activity.compose.BackHandler
import androidx.compose.foundation.layout.Box
import androidx.compose.foundation.layout.fillMaxSize
import androidx.compose.foundation.layout.navigationBarsPadding
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.SnackbarDuration
import androidx.compose.material3.SnackbarHost
import androidx.compose.material3.SnackbarHostState
import androidx.compose.material3.SnackbarResult
import androidx.compose.material3.Surface
import androidx.compose.runtime.Composable
import androidx.compose.runtime.CompositionLocalProvider
import androidx.compose.runtime.LaunchedEffect
import androidx.compose.runtime.getValue
import androidx.compose.runtime.remember
import androidx.compose.runtime.saveable.rememberSaveableStateHolder
import androidx.compose.ui.Alignment
import androidx.compose.ui.Modifier
import androidx.compose.ui.platform.LocalResources
import androidx.compose.ui.platform.LocalWindowInfo
import androidx.compose.ui.res.stringResource
import androidx.lifecycle.Lifecycle
import androidx.lifecycle.compose.LocalLifecycleOwner
import androidx.lifecycle.compose.collectAsStateWithLifecycle
import androidx.lifecycle.compose.currentStateAsState
import org.waggle.Failure
import org.waggle.kit.CommunityModel
import org.waggle.kit.LogModel
import org.waggle.kit.Notice
import org.waggle.kit.Place
import org.waggle.kit.ReaderModel
import org.waggle.kit.Stage

/** Everything, by what the reader says is on stage. */
@Composable
fun ReaderScreen(reader: ReaderModel, log: LogModel) {
    val state by reader.state.collectAsStateWithLifecycle()
    Surface(Modifier.fillMaxSize(), color = MaterialTheme.colorScheme.background) {
        when (val stage = state.stage) {
            Stage.Opening -> Waiting()
            Stage.SignIn -> SignInScreen(state, reader)
            is Stage.Backup -> BackupScreen(stage, reader)
            Stage.AddCommunity -> AddCommunityScreen(state, reader)
            is Stage.InCommunity -> CommunityScreen(stage.model, state.failure, reader, log)
        }
    }
}

/** A community: the channel list, or what is open over it. */
@Composable
private fun CommunityScreen(community: CommunityModel, failure: Failure?, reader: ReaderModel, log: LogModel) {
    val state by community.state.collectAsStateWithLifecycle()
    val covers = remember { Covers() }
    TellCovered(community, covers)
    BackHandler(enabled = state.places.isNotEmpty()) { community.back() }
    // What was scrolled where is kept while something lies over it.
    val kept = rememberSaveableStateHolder()
    CompositionLocalProvider(LocalCovers provides covers) {
        Box(Modifier.fillMaxSize()) {
            when (val front = state.places.lastOrNull()) {
                null -> kept.SaveableStateProvider("list ${community.host}") { SidebarScreen(community, state, reader) }
                is Place.Timeline -> kept.SaveableStateProvider("${front.model.channel} ${front.model.root}") {
                    TimelineScreen(community, state, front.model)
                }
                is Place.Diagnostics -> DiagnosticsScreen(community, state, front.about, log)
            }
            NoticeHost(community, failure, reader::seen, Modifier.align(Alignment.BottomCenter).navigationBarsPadding())
        }
    }
}

/** Tells the community whether its front-most screen can be touched: window in front, nothing over it. */
@Composable
private fun TellCovered(community: CommunityModel, covers: Covers) {
    val focused = LocalWindowInfo.current.isWindowFocused
    val lifecycle by LocalLifecycleOwner.current.lifecycle.currentStateAsState()
    val covered = covers.any || !focused || !lifecycle.isAtLeast(Lifecycle.State.RESUMED)
    LaunchedEffect(community, covered) { community.covered(covered) }
}

@Composable
private fun NoticeHost(community: CommunityModel, failure: Failure?, onSeen: () -> Unit, modifier: Modifier) {
    val host = remember { SnackbarHostState() }
    val again = stringResource(R.string.try_again)
    val localOnly = stringResource(R.string.notice_local_only)
    val copied = stringResource(R.string.notice_copied)
    val resources = LocalResources.current
    LaunchedEffect(failure) {
        if (failure == null) return@LaunchedEffect
        host.showSnackbar(failure.sentence, duration = SnackbarDuration.Long)
        onSeen()
    }
    LaunchedEffect(community) {
        community.notices.collect { notice ->
            when (notice) {
                is Notice.Failed -> {
                    val repeat = notice.again
                    val answer = host.showSnackbar(notice.failure.sentence, again.takeIf { repeat != null }, duration = SnackbarDuration.Long)
                    if (answer == SnackbarResult.ActionPerformed) repeat?.invoke()
                }
                Notice.OnThisDeviceOnly -> host.showSnackbar(localOnly)
                Notice.Copied -> host.showSnackbar(copied)
                is Notice.MarkedRead ->
                    host.showSnackbar(resources.getQuantityString(R.plurals.notice_marked_read, notice.channels, notice.channels))
            }
        }
    }
    SnackbarHost(host, modifier)
}
